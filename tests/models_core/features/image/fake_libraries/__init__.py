"""Small stand-ins for torchvision and timm, which are not installed where tests run: on the path as if they
were. They have what `torch_networks` asks these packages for, spelled as there."""
