"""Systems by name: their recipes, training in phases, storage, and scoring of new items.

from models_core.systems.recipe_files import recipe_of from models_core.systems.caption_reading import
ImageExample from models_core.systems.dataset import prepare from models_core.systems.training import fit

recipe = recipe_of("TRI5SEM")              # or the path of a TOML file
material = prepare(examples, kept=kept)    # captions as lemmas, pictures as words
system = fit(recipe, material.take(training), material.take(held_out), aids, kept=kept)
system.score_pairs(new_features, new_documents, direction="annotation")
"""
