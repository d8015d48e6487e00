"""The scaling intervals of an Hvpa, as tables and charts."""
