"""Small stand-ins for torchvision and timm, which are not installed for tests: importable under the same
names. They have what `torch_networks` uses of these packages."""
