"""The kinds that users write: fields, optional defaults, validation rules and wire form of each."""
