"""Holdfast for programs that speak the Model Context Protocol.

    answers    method and parameters in, result out: tools, resources, prompts; knows no SDK
    tools · results · resources · prompts · limits
    sdk        the one place that knows the SDK, 2.x and 1.x
    stdio      frames on stdin and stdout, each bounded
    clients    tokens of those who come over HTTP, and whose memory each sees
    gate       who is let in over HTTP: before anything is read
    http       one engine for each scope, behind the gate
    joining    what other programs need in their settings

Nothing is loaded by importing this package: the SDK takes longer than most commands.
"""
