"""What is seen, decided, remembered and set."""
