"""This paper: what each notebook runs and how it looks at the results, and the ledger of claims."""
