"""What people, programs and commands can have done in annotation: one declaration each."""
