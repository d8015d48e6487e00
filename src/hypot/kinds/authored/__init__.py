"""What authors give to constructors: targets, keywords, and what is written of them."""
