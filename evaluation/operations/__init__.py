"""What people, programs and commands can have done in evaluation: one declaration each."""
