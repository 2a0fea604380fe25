"""Storage of static files in production: under names that change with their content."""

from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]


class StaticFiles(CompressedManifestStaticFilesStorage):
    """WhiteNoise's storage, which also renames the imports of our modules: browsers cache them forever."""

    support_js_module_import_aggregation = True
