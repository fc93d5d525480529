module thrum/bench

go 1.19
