from ._render import print_advice as print_advice
