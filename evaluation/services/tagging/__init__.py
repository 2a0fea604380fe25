"""Tags that systems assign to images: writing, storing and scoring them."""
