"""What the settings of a campaign may hold: types with their bounds, which the settings' fields name."""

from typing import Annotated

from pydantic import Field

#: Of numbers in settings: as millionths of a currency it still has its place in a row.
LARGEST_NUMBER = 10**12

#: A whole number, 0 or more; and one that is 1 or more.
WholeNumber = Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]
WholeFromOne = Annotated[int, Field(ge=1, le=LARGEST_NUMBER)]
#: A part of the whole, 0 to 1; and an overlap (IoU), which 0 would make of any two boxes.
Fraction = Annotated[float, Field(ge=0, le=1)]
IouThreshold = Annotated[float, Field(gt=0, le=1)]
#: An amount of money.
MoneyAmount = Annotated[float, Field(ge=0, le=LARGEST_NUMBER)]
#: A time that is not nothing; its field says in what.
TimeSpan = Annotated[float, Field(gt=0, le=LARGEST_NUMBER)]
#: Text that a row can hold.
StorableText = Annotated[str, Field(pattern=r"^[^\x00]*$")]
