module example.org/copies

go 1.19

require example.org/leaf v0.0.0

replace example.org/leaf => ../../../lib/go
