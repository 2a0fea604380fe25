"""Tables 11 and 12 of Hodosh et al. 2013 as printed: thirty systems, both directions.

Each line: a system, then annotation (images as queries, captions as results), then search. TRI5SEM stands for
"TRI5, sqrt-idf, A, D_BNC+ic"; `histo` for the image kernel of histograms, all others have pyramids.
"""

import numpy as np
from numpy.typing import NDArray

#: R@1, R@5, R@10 in per cent and the median rank of the original item.
_TABLE_11 = """
NN5-F1                 1.9   5.9   8.7 251.0    2.1   5.2   7.1 278.0
NN5-F1-idf             2.5   7.6   9.7 251.0    2.5   4.7   7.2 272.0
NN5-BoW5               2.1   5.9   9.6 258.5    2.8   6.4   9.1 266.0
NN5-TRI                2.1   5.9   9.4 248.0    2.3   6.1   9.0 240.0
BoW1                   4.8  13.5  19.7  64.0    4.5  14.3  20.8  67.0
TRI1                   4.6  14.4  21.0  68.0    4.5  14.0  22.5  71.0
BoW5-histo             5.9  14.9  21.2  69.0    4.8  14.2  20.8  74.0
BoW5                   6.2  17.1  24.3  58.0    5.8  16.7  23.6  60.0
BoW5-idf               6.1  17.0  23.2  60.5    6.4  16.5  24.5  59.5
BoW5-sqrt-idf          6.1  17.3  23.9  56.0    6.1  16.9  24.5  60.5
TagRank                6.0  17.0  23.8  56.0    5.4  17.4  24.3  52.5
TRI5-histo             6.0  15.0  21.7  63.5    5.7  14.5  22.1  67.0
TRI5                   7.1  17.2  23.7  53.0    6.0  17.8  26.2  55.0
TRI5-Lin               6.2  16.7  23.7  53.5    6.0  16.7  24.4  61.0
TRI5-BNC               7.5  19.8  26.1  40.0    7.2  18.4  27.4  44.5
TRI5-ic                7.0  19.5  27.1  36.0    7.0  19.3  27.5  41.0
TRI5-BNC+ic            7.3  20.0  27.0  36.0    6.9  19.2  28.0  42.0
TRI5-A                 7.2  20.2  28.0  41.0    6.8  18.5  27.7  41.5
TRI5-A-BNC             7.9  20.3  28.4  39.0    7.8  19.0  27.4  39.0
TRI5-A-ic              6.9  20.2  29.5  35.0    7.3  19.9  28.7  39.5
TRI5-A-BNC+ic          7.6  20.7  30.0  35.0    7.4  19.4  29.2  38.0
TRI5-sqrt-idf          7.6  18.8  25.1  46.0    6.2  18.0  26.5  52.0
TRI5-sqrt-idf-BNC      6.8  18.7  28.9  40.0    6.7  18.2  27.6  45.0
TRI5-sqrt-idf-ic       7.3  20.4  27.5  38.0    8.1  19.1  28.4  40.5
TRI5-sqrt-idf-BNC+ic   6.7  20.0  28.9  35.0    7.0  19.7  28.8  39.0
TRI5-sqrt-idf-A        7.3  21.1  28.3  37.0    7.5  19.2  28.7  38.0
TRI5-sqrt-idf-A-BNC    7.5  21.3  30.0  38.0    7.8  18.9  29.0  41.5
TRI5-sqrt-idf-A-ic     7.2  20.8  29.6  34.0    7.4  21.4  30.1  37.5
TRI5SEM-histo          6.5  18.0  26.7  45.0    6.0  18.0  24.2  48.5
TRI5SEM                8.3  21.6  30.3  34.0    7.6  20.7  30.1  38.0
"""

#: S@1, S@5, S@10 and R-precision in per cent, by the crowd's relevance judgments.
_TABLE_12 = """
NN5-F1                 4.9  13.3  19.1   4.2    4.9  13.2  17.8   3.8
NN5-F1-idf             5.8  15.4  20.2   5.2    5.0  13.3  18.4   3.8
NN5-BoW5               6.4  14.8  20.6   5.4    5.7  13.4  18.4   4.6
NN5-TRI                7.2  17.4  23.1   6.2    4.4  13.5  19.8   4.3
BoW1                  12.2  30.3  39.7  10.7   11.4  30.5  40.2   9.6
TRI1                  12.8  32.2  40.2  10.5   12.2  30.6  41.5   9.9
BoW5-histo            13.9  29.8  39.6   9.9   11.5  28.0  38.1   9.3
BoW5                  15.0  34.1  42.7  11.1   12.1  31.5  40.8  10.5
BoW5-idf              13.9  32.7  42.4  11.0   13.3  30.8  41.8  10.6
BoW5-sqrt-idf         15.0  34.0  42.7  11.3   12.9  31.3  41.0  10.7
TagRank               16.2  34.2  42.9  11.7   12.4  31.5  41.6  10.5
TRI5-histo            15.0  29.0  38.9   9.9   12.9  28.9  39.9  10.5
TRI5                  16.4  32.9  43.4  11.6   13.1  33.1  43.8  11.0
TRI5-Lin              15.5  34.1  43.8  11.7   12.7  32.5  41.7  10.7
TRI5-BNC              16.8  37.4  45.5  12.7   14.5  35.3  44.9  12.1
TRI5-ic               15.8  36.7  47.0  12.7   14.5  36.6  46.1  12.8
TRI5-BNC+ic           16.4  37.2  47.1  12.5   14.8  36.3  45.8  12.7
TRI5-A                17.3  36.9  47.4  13.4   14.3  35.4  46.6  12.3
TRI5-A-BNC            16.6  36.5  47.4  13.2   15.3  35.0  45.8  12.8
TRI5-A-ic             15.8  37.0  48.2  13.0   15.2  37.4  47.6  12.8
TRI5-A-BNC+ic         16.4  37.4  48.3  13.4   15.4  37.0  46.8  13.2
TRI5-sqrt-idf         16.9  35.4  44.2  12.5   13.0  33.4  43.9  11.3
TRI5-sqrt-idf-BNC     16.1  36.0  47.5  12.9   15.0  34.0  44.6  12.2
TRI5-sqrt-idf-ic      15.9  36.9  46.8  12.8   16.0  35.8  47.5  13.1
TRI5-sqrt-idf-BNC+ic  16.2  37.4  47.5  13.3   15.3  34.8  46.7  13.0
TRI5-sqrt-idf-A       17.4  37.6  46.3  13.4   15.8  36.3  47.3  13.2
TRI5-sqrt-idf-A-BNC   15.7  36.9  48.1  12.9   15.8  35.3  47.2  12.9
TRI5-sqrt-idf-A-ic    15.7  37.3  47.3  13.3   15.5  38.3  47.8  13.4
TRI5SEM-histo         13.6  30.6  41.9  11.1   14.4  33.8  42.7  12.2
TRI5SEM               16.6  37.7  49.1  13.7   15.7  36.9  48.5  13.4
"""


def _parsed(text: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    lines = [line.split() for line in text.strip().splitlines()]
    return tuple(line[0] for line in lines), np.array([line[1:] for line in lines], dtype=np.float64)


PRINTED_SYSTEMS, AUTOMATIC = _parsed(_TABLE_11)
_, HUMAN = _parsed(_TABLE_12)

#: The first column of each direction in AUTOMATIC and HUMAN, both of shape (systems, 8).
COLUMN_OF_DIRECTION = {"annotation": 0, "search": 4}
