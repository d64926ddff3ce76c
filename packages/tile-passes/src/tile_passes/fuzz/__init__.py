"""Random programs through random pipelines: does every pass keep the meaning, does every target
compute it?

`cases` draws what is tried, `checks` names the first pass after which the oracle says something
else, `built` compares compiled programs, `reduction` makes a program that fails short, `corpus`
keeps it as a file, `session` does all of it by the number, `cli` is the command `tile fuzz`.
"""
