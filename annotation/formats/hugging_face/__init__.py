"""The layout of the Hugging Face hub: shards of Parquet with the pictures inside, and a dataset card.

`shards` writes the rows and registers the format, `features` says what a column is, `card` writes README.md.
"""

from annotation.formats.hugging_face import shards as _shards  # registers the format
