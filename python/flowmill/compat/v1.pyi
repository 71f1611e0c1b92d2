from flowmill import *
