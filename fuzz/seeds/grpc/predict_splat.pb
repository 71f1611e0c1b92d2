

echoint64
x	¬R