// Uses the generated Go client, as client.py uses that for Python.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"

	"clients/lapidary"
)

const text = "A text of a few words."

var ctx = context.Background()

func connect(key string) *lapidary.APIClient {
	configuration := lapidary.NewConfiguration()
	configuration.Servers[0].URL = os.Args[1]
	configuration.AddDefaultHeader("Authorization", "Bearer "+key)
	return lapidary.NewAPIClient(configuration)
}

func main() {
	newKey := lapidary.NewKeyInput("go")
	newKey.SetRole(lapidary.ROLE_ADMIN)
	key := answer(connect(os.Args[2]).KeysAPI.MakeKey(ctx).KeyInput(*newKey).Execute())
	client := connect(key.Secret)

	book := lapidary.NewBook{}
	book.SetRights(lapidary.RIGHTS_PROTECTED)
	book.SetTitle("A")
	book.SetText(text)
	added := answer(client.BooksAPI.PutBook(ctx, "mine", "go/1").NewBook(book).Execute())
	equal(added.Book.GetTitle(), "A")
	_, _, refused := client.BooksAPI.PutBook(ctx, "mine", "go/2").NewBook(book).Unless("protected").Execute()
	problem := problemOf(refused)
	equal(problem.Code, "matches")
	equal(problem.GetReport().Matches[0].Book.Id, "go/1")

	batch := answer(client.ChecksAPI.MakeBatch(ctx).BatchInput(*lapidary.NewBatchInput([]string{"upload.txt"})).Execute())
	question := lapidary.NewCheck()
	question.SetText(text)
	question.SetRecord(true)
	question.SetName("upload.txt")
	question.SetBatch(batch.Id)
	report := answer(client.ChecksAPI.Check(ctx).Check(*question).Execute())
	equal(report.GetVerdict(), lapidary.RIGHTS_PROTECTED)
	equal(report.Matches[0].Book.Id, "go/1")
	equal(answer(client.ChecksAPI.Batch(ctx, batch.Id).Execute()).Checked, int32(1))

	newDecision := lapidary.NewDecisionInput(report.GetFiled(), lapidary.RULING_REFUSED)
	newDecision.SetReason("a copy")
	decision := answer(client.DecisionsAPI.Decide(ctx).DecisionInput(*newDecision).Execute())
	equal(answer(client.DecisionsAPI.Decision(ctx, decision.Id).Execute()).GetReason(), "a copy")

	webhook := lapidary.NewWebhookInput("https://example.com/")
	webhook.SetEvents([]lapidary.EventType{lapidary.EVENTTYPE_LIBRARY_TRUSTED})
	answer(client.WebhooksAPI.PutOwnWebhook(ctx).WebhookInput(*webhook).Execute())
	equal(answer(client.WebhooksAPI.OwnWebhook(ctx).Execute()).Url, webhook.Url)
	try(client.WebhooksAPI.DeleteOwnWebhook(ctx).Execute())

	verify := lapidary.TaskOneOf2AsTask(lapidary.NewTaskOneOf2("verify"))
	job := answer(client.JobsAPI.StartJob(ctx).Task(verify).Execute())
	for job.State == lapidary.JOBSTATE_RUNNING {
		job = answer(client.JobsAPI.Job(ctx, job.Id).Execute())
	}
	equal(job.State, lapidary.JOBSTATE_DONE)

	page := answer(client.BooksAPI.Books(ctx, "mine").Limit(10).Execute())
	equal(len(page.Books), 1)
	equal(page.Books[0].Id, "go/1")
	try(client.BooksAPI.DeleteBook(ctx, "mine", "go/1").Execute())
	_, missing := client.BooksAPI.DeleteBook(ctx, "mine", "go/1").Execute()
	equal(problemOf(missing).Code, "no_such_book")
	fmt.Println("the Go client works")
}

func answer[Answer any](answer Answer, response *http.Response, err error) Answer {
	try(response, err)
	return answer
}

func try(_ *http.Response, err error) {
	if err != nil {
		panic(err)
	}
}

func problemOf(err error) lapidary.Problem {
	var refused *lapidary.GenericOpenAPIError
	if !errors.As(err, &refused) {
		panic(fmt.Sprint("not refused: ", err))
	}
	return refused.Model().(lapidary.Problem)
}

func equal(is, wanted any) {
	if !reflect.DeepEqual(is, wanted) {
		panic(fmt.Sprintf("%v in place of %v", is, wanted))
	}
}
