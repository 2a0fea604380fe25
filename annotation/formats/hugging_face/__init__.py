"""The layout of the Hugging Face hub: shards of Parquet that contain the pictures, and a dataset card.

`shards` writes the rows and registers the format, `features` describes the columns, `card` writes README.md.
"""

from annotation.formats.hugging_face import shards as _shards  # registers the format
