"""What a rule needs of a body: unpacked, its lines, and their totals."""
