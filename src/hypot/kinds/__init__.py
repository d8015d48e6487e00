"""What users write: one file per kind, with its fields, defaults on request, rules and wire form."""
