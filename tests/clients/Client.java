// Uses the generated Java client, as client.py uses that for Python.

import com.fasterxml.jackson.databind.DeserializationFeature;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import lapidary.ApiClient;
import lapidary.ApiException;
import lapidary.BooksApi;
import lapidary.ChecksApi;
import lapidary.DecisionsApi;
import lapidary.JobsApi;
import lapidary.KeysApi;
import lapidary.WebhooksApi;
import lapidary.model.*;

class Client {
    static final String TEXT = "A text of a few words.";

    public static void main(String[] arguments) throws Exception {
        var newKey = new NewKey().name("java").role(Role.ADMIN);
        var key = new KeysApi(connect(arguments[0], arguments[1])).makeKey(newKey, null);
        var client = connect(arguments[0], key.getSecret());
        var books = new BooksApi(client);
        var checks = new ChecksApi(client);
        var decisions = new DecisionsApi(client);
        var webhooks = new WebhooksApi(client);
        var jobs = new JobsApi(client);

        var book = BooksApi.APIPutBookRequest.newBuilder().library("mine")
            .newBook(new NewBook().rights(Rights.PROTECTED).title("A").text(TEXT));
        var added = books.putBook(book.id("java/1").build());
        equal(added.getBook().getTitle(), "A");
        var refused = problem(() -> books.putBook(book.id("java/2").unless("protected").build()));
        equal(refused.getCode(), Problem.CodeEnum.MATCHES);
        equal(refused.getReport().getMatches().get(0).getBook().getId(), "java/1");

        var batch = checks.makeBatch(new NewBatch().files(List.of("upload.txt")), null);
        var question = new Check().text(TEXT).record(true).name("upload.txt").batch(batch.getId());
        var report = checks.check(ChecksApi.APICheckRequest.newBuilder().check(question).build());
        equal(report.getVerdict(), Rights.PROTECTED);
        equal(report.getMatches().get(0).getBook().getId(), "java/1");
        equal(checks.batch(batch.getId()).getChecked(), 1);

        var newDecision = new NewDecision().check(report.getFiled()).ruling(Ruling.REFUSED).reason("a copy");
        var decision = decisions.decide(newDecision, null);
        equal(decisions.decision(decision.getId()).getReason(), "a copy");

        var webhook = new NewWebhook().url("https://example.com/").events(Set.of(EventType.LIBRARY_TRUSTED));
        webhooks.putOwnWebhook(webhook, null, null);
        equal(webhooks.ownWebhook(WebhooksApi.APIOwnWebhookRequest.newBuilder().build()).getUrl(), webhook.getUrl());
        webhooks.deleteOwnWebhook(WebhooksApi.APIDeleteOwnWebhookRequest.newBuilder().build());

        var verify = new TaskOneOf2().kind(TaskOneOf2.KindEnum.VERIFY);
        var job = jobs.startJob(new Task(verify), null);
        while (job.getState() == JobState.RUNNING) job = jobs.job(job.getId());
        equal(job.getState(), JobState.DONE);

        var page = books.books("mine", null, 10);
        equal(page.getBooks().stream().map(listed -> listed.getId()).toList(), List.of("java/1"));
        books.deleteBook("mine", "java/1", null, null);
        equal(problem(() -> books.deleteBook("mine", "java/1", null, null)).getCode(), Problem.CodeEnum.NO_SUCH_BOOK);
        System.out.println("the Java client works");
    }

    static ApiClient connect(String url, String key) {
        var client = new ApiClient();
        client.updateBaseUri(url);
        // Otherwise, the result of a job fits the types of all results, and is refused.
        client.setObjectMapper(ApiClient.createDefaultObjectMapper().enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES));
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
        return client;
    }

    interface Call {
        void make() throws ApiException;
    }

    static Problem problem(Call call) throws Exception {
        try {
            call.make();
        } catch (ApiException refused) {
            if (refused.getResponseBody() == null) throw refused;
            return ApiClient.createDefaultObjectMapper().readValue(refused.getResponseBody(), Problem.class);
        }
        throw new AssertionError("not refused");
    }

    static void equal(Object is, Object wanted) {
        if (!Objects.equals(is, wanted)) throw new AssertionError(is + " in place of " + wanted);
    }
}
