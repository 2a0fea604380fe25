"""Tags of images, ranked: from people's captions."""
