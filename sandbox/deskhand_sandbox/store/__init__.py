"""A shop of made-up goods in the manner of WebShop (Yao et al. 2022, arXiv 2207.01206): look for what is
asked, choose, buy; the reward says how much of what was asked it is.

A page is named by its address alone, so a browser and a terminal show the same shop: `html` and `text` draw
the pages of `pages`.
"""
