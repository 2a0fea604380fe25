"""The pages of systems: what there is, training, bringing one, and what one is asked to make."""
