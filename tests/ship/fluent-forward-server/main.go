// fluent-forward-server is an aggregator for tests: the OpenTelemetry Collector's own receiver of the Fluentd forward
// protocol, which prints every record it takes as a line of JSON on standard output.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/fluentforwardreceiver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
)

// line is a record as it was taken.
type line struct {
	Time    string         `json:"time"`
	Fields  map[string]any `json:"fields"`
	Message any            `json:"message"`
}

// printer prints records, and refuses to acknowledge the first few batches although it has them.
type printer struct {
	unacknowledged int
}

func (p *printer) take(_ context.Context, logs plog.Logs) error {
	out := json.NewEncoder(os.Stdout)
	for _, resource := range logs.ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				taken := line{
					Time:    record.Timestamp().AsTime().Format("2006-01-02T15:04:05.000000000Z"),
					Fields:  record.Attributes().AsRaw(),
					Message: record.Body().AsRaw(),
				}
				if err := out.Encode(taken); err != nil {
					return err
				}
			}
		}
	}
	if p.unacknowledged > 0 {
		p.unacknowledged--
		return errors.New("the acknowledgement is lost on request")
	}
	return nil
}

func serve(ctx context.Context, address string, unacknowledged int) error {
	factory := fluentforwardreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*fluentforwardreceiver.Config)
	config.ListenAddress = address
	sink, err := consumer.NewLogs((&printer{unacknowledged}).take)
	if err != nil {
		return err
	}
	settings := receiver.Settings{
		ID:                component.NewID(factory.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}
	server, err := factory.CreateLogs(ctx, settings, config, sink)
	if err != nil {
		return err
	}
	if err := server.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "listening on", address)
	<-ctx.Done()
	return server.Shutdown(context.Background())
}

func main() {
	address := flag.String("listen", "127.0.0.1:24224", "address and port")
	unacknowledged := flag.Int("unacknowledged", 0, "take so many batches without acknowledging them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *address, *unacknowledged); err != nil {
		log.Fatal(err)
	}
}
