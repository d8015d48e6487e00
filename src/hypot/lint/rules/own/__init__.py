"""The texts of the rules that the kinds themselves check."""
