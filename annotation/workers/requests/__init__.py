"""Operations on workers: amounts due and payments, their table, erasing them, studies."""
