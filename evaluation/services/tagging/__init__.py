"""Tags that systems found for images: made, kept, scored."""
