"""The service behind `gatewatch run`: sources in, one commit at a time; judged, published and signed as time allows.

`loop.Service` decides what is done when; `engine.Engine` does it to the data directory, `fleet.Fleet` to the sources.
`pace` and `clock` say when it is time, `log` and `status` what people are told, `signals` when to stop.
"""
