"""The addresses of the REST API: every operation, whichever app it is of."""

from annotation.api.rest.declared import serve_operations
from annotation.api.rest.operations import operation_patterns
from annotation.api.rest.views import operation_view
from annotation.api.v1 import urls as of_annotation

serve_operations()
urlpatterns = [
    *of_annotation.urlpatterns,
    *operation_patterns(operation_view),
]
