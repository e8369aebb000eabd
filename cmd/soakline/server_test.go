package main

import (
	"bufio"
	"net"
	"strings"
	"testing"
)

// serve serves a target on a unix socket that has one foreign key, answers
// what a run begins with, a rehearsal of GET included, and no other GET.
func serve(t *testing.T, socket string) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go converse(conn)
		}
	}()
}

func converse(conn net.Conn) {
	defer conn.Close()
	words := bufio.NewScanner(conn)
	rehearsing := false
	for words.Scan() {
		reply := ""
		switch strings.ToLower(words.Text()) {
		case "get":
			if rehearsing {
				reply = "$-1\r\n"
			}
			rehearsing = false
		case "info":
			rehearsing = true
			reply = "-ERR unknown command\r\n"
		case "hello":
			reply = "-ERR unknown command\r\n"
		case "ping":
			reply = "+PONG\r\n"
		case "scan":
			reply = "*2\r\n$1\r\n0\r\n*1\r\n$8\r\norders:1\r\n"
		}
		if _, err := conn.Write([]byte(reply)); err != nil {
			return
		}
	}
}
