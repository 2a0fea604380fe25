"""The world of the systems' tests, whose images have vectors."""

from tests.evaluation.systems.conftest import corpus as corpus
from tests.evaluation.systems.conftest import data_dir as data_dir
from tests.evaluation.systems.conftest import features as features
from tests.evaluation.systems.conftest import own_recipe as own_recipe
