"""Access that the bank model cannot count."""

from tile_ir.layout import BankModel

BankModel(banks=0, bank_bytes=4)
