"""What alignments of regions and words say of a corpus's images, as layers beside people's."""
