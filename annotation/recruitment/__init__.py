"""Where workers come from: accounts of their own, links, crowd platforms. One file each, with its pages."""
