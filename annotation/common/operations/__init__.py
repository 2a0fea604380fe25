"""Operations: actions for people, programs and commands, each declared once.

A declaration (`Operation`) has the request (a dataclass), the result, the permission, and the function.
Pages, the API, commands and jobs are made from it: see `annotation.web.common.request_forms`,
`annotation.api.rest.views`, `annotation.management.operations` and `annotation.jobs.registry`. Declarations
are in an app's package `operations`, requests in the modules of the services that take them.
"""

from annotation.common.operations.balance import (
    LEAVE_UNUSED,
    check_used,
    sheet_notes,
    sheet_rows,
    sheet_text,
    with_sheet,
)
from annotation.common.operations.errors import EXPECTED_ERRORS, FieldError, Forbidden, Invalid, invalid
from annotation.common.operations.fields import FileUpload, Help, Named, OneOf, ServerFile, StoredKind
from annotation.common.operations.operation import (
    OPERATION_FOLDERS,
    CommandLine,
    File,
    FormPage,
    Has,
    Listing,
    NewFile,
    Operation,
    OperationContext,
    Pages,
    Rest,
    all_operations,
    operation_named,
    register,
)
from annotation.common.operations.requests import (
    BadJson,
    RequestField,
    json_schema,
    read_json,
    read_request,
    read_result,
    request_fields,
    request_to_dict,
    result_of,
    result_to_dict,
)
from annotation.common.operations.settings import SettingField, put_setting
from annotation.common.operations.stored import StoredThing, register_stored
from annotation.common.operations.tables import table_layouts, tables_text
