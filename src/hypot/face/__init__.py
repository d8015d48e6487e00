"""What people look at: values made ready to be read, and the drawing of them."""
