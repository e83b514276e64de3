"""What programs say of their windows to those who cannot see them."""
