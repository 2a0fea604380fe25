"""How static files are stored for production: under names that change with their content."""

from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]


class StaticFiles(CompressedManifestStaticFilesStorage):
    """WhiteNoise's, with the imports of our modules under such names too: browsers keep them for good."""

    support_js_module_import_aggregation = True
