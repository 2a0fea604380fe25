"""Types of a campaign's settings with their bounds."""

from typing import Annotated

from pydantic import Field

#: Largest number in settings: as millionths of a currency it still fits into a row.
LARGEST_NUMBER = 10**12

#: A whole number, 0 or more; and one that is 1 or more.
WholeNumber = Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]
WholeFromOne = Annotated[int, Field(ge=1, le=LARGEST_NUMBER)]
#: A share, 0 to 1; and an overlap (IoU), which must be above 0, as any two boxes have 0.
Fraction = Annotated[float, Field(ge=0, le=1)]
IouThreshold = Annotated[float, Field(gt=0, le=1)]
#: An amount of money.
MoneyAmount = Annotated[float, Field(ge=0, le=LARGEST_NUMBER)]
#: A positive duration; the field defines its unit.
TimeSpan = Annotated[float, Field(gt=0, le=LARGEST_NUMBER)]
#: Text that a row can store.
StorableText = Annotated[str, Field(pattern=r"^[^\x00]*$")]
