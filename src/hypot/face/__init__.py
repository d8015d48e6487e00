"""What users see: values prepared for display, and the tables, charts and pages that show them."""
