module example.org/leaf

go 1.19
