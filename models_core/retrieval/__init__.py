"""Systems that score images with sentences: nearest neighbour and KCCA, from kernels that are given."""
