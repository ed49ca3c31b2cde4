"""The loss explorer: a page on this machine that shapes a loss and shows all of it at once.

``propriety explore`` serves it, ``static.write`` writes a version that needs no server. Every number comes
from the library; the page only draws. It needs ``pip install "propriety[explore]"``, that is Starlette and
uvicorn: six small packages in pure Python without templates or sessions, and a server that answers a drag
while a fit runs.
"""
