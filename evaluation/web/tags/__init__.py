"""Tags and filters of templates. `TEMPLATES` in `config/settings.py` says by which name each is loaded."""
