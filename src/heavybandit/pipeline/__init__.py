"""An experiment as data → runs → store → tables, and their verification."""
