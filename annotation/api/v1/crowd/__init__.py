"""Workers by API: who they are, what is done about them, what they are paid, and machines."""
