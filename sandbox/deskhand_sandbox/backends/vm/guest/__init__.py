"""What runs inside the guest; it is copied into the golden image and imports nothing of Deskhand."""
